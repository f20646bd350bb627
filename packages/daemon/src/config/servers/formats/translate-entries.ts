import { pathText } from '@signalbox/mcp-host/yaml-files';
import { type Document, isMap, isNode, isScalar, isSeq, Pair, type Scalar, visit, type YAMLMap } from 'yaml';
import type { ConfigProblem } from '../../document/config-problem.ts';
import { keyText } from '../../document/read-document.ts';
import { mcpServerSchema } from '../../schema/server-schema.ts';
import type { ClientFormat, EntryReader, Meaning, Outcome, ServerRules, Switches } from './client-format.ts';
import { commonKeys } from './client-formats.ts';

/** A reason why an entry of another client's file is left out. */
export interface SkippedEntry extends ConfigProblem {
  server: string;
}

/** The entries of a file on their way into our terms. They are changed in place. */
export interface Translation {
  document: Document;
  entries: YAMLMap;
  format: ClientFormat;
  lineAt: (offset: number) => number;
  skipped: SkippedEntry[];
  warnings: ConfigProblem[];
}

const knownKeys = Object.keys(mcpServerSchema.shape);
const transports: Readonly<Record<string, string>> = {
  local: 'stdio',
  remote: 'http',
  streamableHttp: 'http',
  streamable_http: 'http',
};
/** The names of options that may hold a server back. An entry with such an option that Signalbox does not know is not used. */
const holdsBack =
  /sandbox|permission|permit|approv|confirm|consent|restrict|limit|den(y|ied)|block|exclu|disab|enabl|activ|allow|filter|only|polic|trust|safe|secur|guard|protect|isolat|network|(white|black)_?-?list|hid(e|den)|ignor|omit|skip|suspend|pause|^off$|^ask|tools?$|tool_?(set|config)/i;

/**
 * Removes the options that mean nothing to Signalbox, with a warning each, before any reference in them is read. An entry is removed if an
 * option may hold its server back in a way that Signalbox does not know.
 */
export function removeUnknownKeys(translation: Translation): void {
  const { entries, format } = translation;
  for (const item of [...entries.items]) {
    const entry = item.value;
    if (!isMap(entry)) continue;
    entry.items = entry.items.flatMap((pair) =>
      keyText(pair) === 'transport' && isMap(pair.value) ? pair.value.items : [pair],
    );
    const [first, ...others] = (format.firstOf ?? []).filter((key) => entry.has(key));
    entry.items = entry.items.filter((pair) => {
      const outcome = others.includes(keyText(pair))
        ? { ignored: `'${first}' counts` }
        : staticOutcome(pair, meaningOf(format, pair));
      if (outcome) report(translation, item, pair, outcome);
      return outcome === undefined;
    });
  }
}

/** Replaces the keys of the entries by ours. Returns the keys as the file has them, by the JSON of the server and our key. */
export function translateKeys(translation: Translation, reader: EntryReader): Map<string, string> {
  const { document, entries, format } = translation;
  const spelled = new Map<string, string>();
  for (const item of [...entries.items]) {
    const entry = item.value;
    if (!isMap(entry)) continue;
    const alone = entry.has('type') ? undefined : entry.items.find((pair) => keyText(pair) === 'url');
    const own = new Map<string, Pair>();
    // A value that stands in the entry counts before one that is read for it.
    const isRead = (pair: Pair): number => Number('read' in meaningOf(format, pair)!);
    for (const pair of entry.items.toSorted((a, b) => isRead(a) - isRead(b))) {
      for (const translated of translatedPairs(translation, item, pair, reader)) {
        const key = keyText(translated);
        spelled.set(JSON.stringify([keyText(item), key]), keyText(pair));
        own.set(key, merged(own.get(key), translated));
      }
    }
    if (format.urlAlone && alone) {
      own.set(
        'type',
        new Pair(
          placed(document.createNode('type'), alone.key),
          placed(document.createNode(format.urlAlone), alone.key),
        ),
      );
      spelled.set(JSON.stringify([keyText(item), 'type']), 'url');
    }
    entry.items = [...own.values()];
    for (const pair of entry.items) asTexts(pair);
  }
  return spelled;
}

/** Applies what the rest of the file says about its servers, and the file in which its client switches them off. */
export function applyRules(
  translation: Translation,
  root: Readonly<Record<string, unknown>>,
  switches: Switches,
): void {
  const { document, entries, format } = translation;
  for (const item of [...entries.items]) {
    if (!isMap(item.value)) continue;
    const { refused, ...rules } = rulesOf(format, root, keyText(item), switches);
    if (refused !== undefined) report(translation, item, undefined, { refused });
    for (const [key, value] of Object.entries(rules)) {
      const before = item.value.items.find((pair) => keyText(pair) === key);
      const after = merged(before, document.createPair(key, value));
      if (!before) item.value.items.push(after);
    }
  }
}

function rulesOf(
  { rules, switches: switchFile }: ClientFormat,
  root: Readonly<Record<string, unknown>>,
  server: string,
  switches: Switches,
): ServerRules {
  if (switchFile && 'problem' in switches)
    return { refused: `${switchFile.path}, which may switch it off, ${switches.problem}` };
  const isOff = 'content' in switches && switchFile?.isOff(switches.content, server);
  return { ...rules?.(root, server), ...(isOff && { disabled: true }) };
}

function meaningOf(format: ClientFormat, pair: Pair): Meaning | undefined {
  const key = keyText(pair);
  const own = (table: Readonly<Record<string, Meaning>> = {}) =>
    Object.hasOwn(table, key) ? table[key] : undefined;
  // Another client's `auth` has no `type` and a meaning of its own.
  const isOurs = key === 'auth' ? isMap(pair.value) && pair.value.has('type') : knownKeys.includes(key);
  return own(format.keys) ?? own(commonKeys) ?? (isOurs ? { ours: key } : undefined);
}

function staticOutcome(pair: Pair, meaning: Meaning | undefined) {
  if (meaning) return 'ignored' in meaning || 'refused' in meaning ? meaning : undefined;
  return holdsBack.test(keyText(pair))
    ? {
        refused:
          'may hold the server back, in a way that Signalbox does not know: write the server into signalbox.yaml',
      }
    : { ignored: 'Signalbox has no such option' };
}

function translatedPairs(translation: Translation, item: Pair, pair: Pair, reader: EntryReader): Pair[] {
  const meaning = meaningOf(translation.format, pair)!;
  if ('ours' in meaning) {
    const key = translation.document.createNode(meaning.ours) as Scalar;
    if (meaning.ours === 'type' && isScalar(pair.value))
      pair.value.value = transports[String(pair.value.value)] ?? pair.value.value;
    return [new Pair(placed(key, pair.key), pair.value)];
  }
  const { document } = translation;
  const value: unknown = isNode(pair.value) ? pair.value.toJS(document) : pair.value;
  const outcome: Outcome = 'read' in meaning ? meaning.read(value, reader) : meaning;
  if ('entry' in outcome)
    return Object.entries(outcome.entry).map(
      ([key, own]) =>
        new Pair(placed(document.createNode(key), pair.key), placed(document.createNode(own), pair.value)),
    );
  report(translation, item, pair, outcome);
  return [];
}

function report(
  { entries, format, lineAt, skipped, warnings }: Translation,
  item: Pair,
  pair: Pair | undefined,
  outcome: Exclude<Outcome, { entry: unknown }>,
): void {
  const server = keyText(item);
  const key = pair?.key ?? item.key;
  const line = lineAt(isNode(key) ? (key.range?.[0] ?? 0) : 0);
  const path = pathText([format.section, server, ...(pair ? [keyText(pair)] : [])]);
  if ('ignored' in outcome) warnings.push({ line, path, message: `ignored: ${outcome.ignored}` });
  else {
    skipped.push({ server, line, path, message: outcome.refused });
    entries.items = entries.items.filter((one) => one !== item);
  }
}

/** Combines two values of one key: those of lists and mappings, or the stricter switch. Otherwise the first one counts. */
function merged(before: Pair | undefined, { key, value }: Pair): Pair {
  if (!before) return new Pair(key, value);
  const known = before.value;
  if (isSeq(known) && isSeq(value) && keyText(before) !== 'includeTools') known.items.push(...value.items);
  else if (isSeq(known) && isSeq(value)) {
    const both = value.items.map(String);
    known.items = known.items.filter((one) => both.includes(String(one)));
  } else if (isMap(known) && isMap(value)) {
    for (const pair of value.items) if (!known.has(keyText(pair))) known.items.push(pair);
  } else if (isScalar(known) && isScalar(value) && value.value === true) known.value = true;
  return before;
}

/** Variables, headers and arguments are texts, also where the file has numbers, or true and false. */
function asTexts({ key, value }: Pair): void {
  if (!['env', 'headers', 'args'].includes(String(isScalar(key) ? key.value : key)) || !isNode(value)) return;
  visit(value, {
    Scalar(at, node) {
      if (at === 'key' || !['number', 'boolean', 'bigint'].includes(typeof node.value)) return;
      node.value = node.source ?? String(node.value);
    },
  });
}

/** Gives a new node the place of the one that it was made of. */
function placed<Made>(made: Made, from: unknown): Made {
  const range = isNode(from) ? from.range : undefined;
  if (!range || !isNode(made)) return made;
  visit(made, {
    Node: (_, node) => {
      node.range ??= range;
    },
  });
  return made;
}
