import { resolve } from 'node:path';
import { copyStore } from '@signalbox/daemon/store-copy';
import { schemaNames } from '@signalbox/postgres/settings';
import { SignalboxError } from '@signalbox/protocol';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { count, printJson, printLines, printNotes, tableLines } from '../terminal/output.ts';

/** The options of `signalbox store copy`. */
export interface CopyFlags {
  from: string;
  to: string;
  schema: string;
  json?: boolean;
}

/** Progress is told this often, in milliseconds. */
const progressMs = 2000;

/** The words for each kind of copied items. */
const names: Readonly<Record<string, string>> = {
  message: 'messages, settled ones without their bodies',
  scheduled: 'scheduled messages',
  dead_letter: 'dead letters',
  kept_body: 'bodies of settled messages that are kept',
  request: 'requests that can be answered or were, without their messages',
  journal: 'inboxes with a journal',
  token: 'tokens',
  hold: 'holds',
  agent: 'agents that connected',
  audit_row: 'rows of the audit log',
};

/** Copies a store and prints what was copied. */
export async function copy({ from, to, schema, json }: CopyFlags): Promise<void> {
  if (!schemaNames.pattern.test(schema))
    throw new SignalboxError('usage', `--schema '${schema}' ${schemaNames.problem}`);
  const directory = resolve(argumentOf(from, 'sqlite:', '--from', 'sqlite:./state'));
  const url = addressOf(to);
  using withdrawal = withdrawOnSignal();
  const { signal } = withdrawal;
  const onProgress = json ? () => {} : progressPrinter();
  const target = { url, schema, now: Date.now(), signal, onProgress };
  const { counts, hash } = await copyStore({ directory, ...target }).catch((thrown) => {
    if (!signal.aborted) throw thrown;
    const message = 'nothing was copied, and the database is as before';
    throw new SignalboxError('cancelled', message, { details: { interrupted: true } });
  });
  if (json) return printJson({ from: directory, schema, counts, hash });
  const rows = Object.entries(names).map(([kind, name]) => [
    String(counts[kind as keyof typeof counts] ?? 0),
    name,
  ]);
  printLines(
    `copied ${directory} to schema '${schema}'; both sides hold the same:`,
    ...tableLines(['ITEMS', 'WHAT'], rows).map((line) => `  ${line}`),
    `  hash over all of them and their bodies: ${hash}`,
    '',
    'Sequence numbers have not changed. The journal of the orchestrator is not copied: it begins one in the database, and calls that',
    'wait for it and are not safe to repeat end as outcome_unknown.',
    'Next: name the database in signalbox.yaml, and start the broker on the same data directory',
    `  broker: { store: { postgres: "\${env:SIGNALBOX_POSTGRES}", schema: ${schema} } }`,
    `The databases in ${directory} are not used any more. Never start a broker on them again: it would deliver their messages once more.`,
  );
}

function addressOf(to: string): string {
  if (/^postgres(ql)?:\/\//.test(to)) return to;
  return argumentOf(to, 'postgres:', '--to', 'postgres://user@host/database');
}

function argumentOf(text: string, scheme: string, option: string, example: string): string {
  if (text.startsWith(scheme) && text.length > scheme.length) return text.slice(scheme.length);
  throw new SignalboxError('usage', `the value of ${option} must begin with ${scheme}`, {
    details: { hint: `write it as in ${option} ${example}` },
  });
}

function progressPrinter(): (progress: { step: 'writing' | 'verifying'; items: number }) => void {
  let printedAt = performance.now();
  return ({ step, items }) => {
    const now = performance.now();
    if (now - printedAt < progressMs) return;
    printedAt = now;
    printNotes(`${step === 'writing' ? 'written' : 'read back'}: ${count(items, 'item')}`);
  };
}
