import { dirname, resolve } from 'node:path';
import { nearestName } from '@signalbox/protocol/internal';
import { isMap } from 'yaml';
import { type Config, settleConfig } from './config.ts';
import { checkDocument } from './document/check-document.ts';
import { openConfigFile } from './document/config-file.ts';
import { pathIn } from './document/path-in.ts';
import { keyText, type ReadDocument, readDocument, removeParts } from './document/read-document.ts';
import { configReferences, type ReferenceSources } from './document/references.ts';
import { type ConfigDocument, configSchema } from './schema/config-schema.ts';

const brokerKeys = Object.keys(configSchema.shape.broker.unwrap().shape);
const parts = Object.keys(configSchema.shape);

/**
 * Reads from a configuration file that has mistakes where its broker is, and the id of its orchestrator, with the defaults for all else.
 * Returns `undefined` if that can't be told for certain: the section `broker` can't be read by itself, or it names no data directory and a
 * misspelt key may be meant to. A guess could lead to another broker.
 */
export function readPlace(named: string, env: NodeJS.ProcessEnv): Config | undefined {
  const file = resolve(named);
  const opened = openConfigFile(named, file, { env, onFile: () => {}, onRead: () => {} });
  if ('problem' in opened) return undefined;
  const document = placeIn(opened.text, opened.sources);
  if (!document) return undefined;
  const from = {
    file,
    files: { [file]: '' },
    directory: dirname(file),
    servers: {},
    leftOut: [],
    warnings: [],
  };
  return settleConfig(document, from);
}

/** Lists the data directories that a configuration file names, however broken it is; none if it can't be read. */
export function dataDirectoriesIn(named: string): string[] {
  const file = resolve(named);
  const opened = openConfigFile(named, file, { env: {}, onFile: () => {}, onRead: () => {} });
  if ('problem' in opened) return [];
  const found = opened.text.matchAll(/\bdata['"]?:\s*(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"',}#]+))/g);
  return [...found].map(([, double, single, plain]) => pathIn(dirname(file), double ?? single ?? plain!));
}

function placeIn(text: string, sources: ReferenceSources): ConfigDocument | undefined {
  const whole = readDocument(text);
  const place = 'problems' in whole ? placeBetweenLines(text) : whole;
  if (!place || !isMap(place.document.contents)) return undefined;
  if (!namesIn(place, 'broker').includes('data')) {
    // The default directory counts only if no other one may be meant.
    const names = 'problems' in whole ? topLevelNames(text) : namesIn(place);
    if (names.some(maybeBroker) || namesIn(place, 'broker').some(maybeData) || anyData.test(text))
      return undefined;
  }
  for (const kept of [
    { broker: ['data', 'listen', 'socket', 'tls'], orchestrator: ['id'] },
    { broker: ['data'], orchestrator: ['id'] },
    { broker: ['data'] },
  ]) {
    const document = checkedPlace(place, sources, kept);
    if (document) return document;
  }
  return undefined;
}

/** A directory named anywhere but in a comment: under a wrong section, in a merge, or between the marks of a conflict. */
const anyData = /^(?![ \t]*#).*\bdata['"]?[ \t]*:/m;

/** A section `broker` that YAML may mean, and that is not written as a plain name at the top level. */
const otherBroker = /^(?:[ \t]+['"]?broker['"]?[ \t]*:|['"?&!*])/m;

/** Returns whether a name that is no part of a configuration may be the section of the broker, or a key of it. */
function maybeBroker(name: string): boolean {
  return !parts.includes(name) && (brokerKeys.includes(name) || nearestName(name, ['broker']) !== undefined);
}

/** Returns whether a key of the broker that is not known may be its data directory. */
function maybeData(key: string): boolean {
  return !brokerKeys.includes(key) && [undefined, 'data'].includes(nearestName(key, brokerKeys));
}

function namesIn({ document }: Pick<ReadDocument, 'document'>, section?: string): string[] {
  const entries = section === undefined ? document.contents : document.get(section);
  return isMap(entries) ? entries.items.map(keyText) : [];
}

/** A line that begins a section at the top level of YAML. */
const sectionStart = /^(?<name>[^\s#:][^:]*?)\s*:(?=\s|$)/;

function topLevelNames(text: string): string[] {
  return text.split(/\r?\n/).flatMap((line) => sectionStart.exec(line)?.groups?.name ?? []);
}

/**
 * Reads the sections `broker` and `orchestrator` of a text that is no YAML, each by the lines from its name to the next line that is not
 * indented. Returns `undefined` unless there is one section `broker` that is YAML by itself, and the line that ends it begins a section.
 */
function placeBetweenLines(text: string): ReadDocument | undefined {
  const names = topLevelNames(text);
  if (names.filter((name) => name === 'broker').length !== 1 || otherBroker.test(text)) return undefined;
  const unindented = text.split(/\r?\n/).filter((line) => /^[^\s#]/.test(line));
  const next =
    unindented[unindented.findIndex((line) => sectionStart.exec(line)?.groups?.name === 'broker') + 1];
  if (next !== undefined && !sectionStart.test(next)) return undefined;
  for (const wanted of [['broker', 'orchestrator'], ['broker']]) {
    let isWanted = false;
    const lines = text.split(/\r?\n/).filter((line) => {
      if (/^[^\s#]/.test(line)) isWanted = wanted.includes(sectionStart.exec(line)?.groups?.name ?? '');
      return isWanted;
    });
    const read = readDocument(lines.join('\n'));
    if (!('problems' in read)) return read;
  }
  return undefined;
}

/** Checks some keys of some sections alone. Returns `undefined` if they have mistakes. */
function checkedPlace(
  place: ReadDocument,
  sources: ReferenceSources,
  kept: Readonly<Record<string, string[]>>,
): ConfigDocument | undefined {
  const document = place.document.clone();
  removeParts(document, () => {
    for (const name of namesIn(place)) if (!Object.hasOwn(kept, name)) document.delete(name);
    for (const [section, keys] of Object.entries(kept)) {
      for (const key of namesIn({ document }, section))
        if (!keys.includes(key)) document.deleteIn([section, key]);
    }
  });
  const { lineAt } = place;
  const context = { sources, syntax: configReferences, lineAt };
  const { value, problems } = checkDocument(document, configSchema, context);
  return problems.length > 0 ? undefined : value;
}
