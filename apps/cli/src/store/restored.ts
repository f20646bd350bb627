import { findConfig } from '@signalbox/daemon/config/internal';
import { SignalboxError } from '@signalbox/protocol';
import { loadFound } from '../config/load-found.ts';
import { printJson, printLines } from '../terminal/output.ts';

/** The options of `signalbox store restored`. */
export interface RestoredFlags {
  config?: string;
  json?: boolean;
}

/** Declares that the database of a configuration was restored, and prints what follows. */
export async function restored({ config: named, json }: RestoredFlags): Promise<void> {
  const { broker } = await loadFound(findConfig(named), { parts: ['broker'] });
  if (!broker.store)
    throw new SignalboxError(
      'usage',
      'the configuration has no broker.store, so the messages are in files: restore them with signalbox restore',
      { details: { hint: 'name the configuration of the brokers with --config' } },
    );
  const { postgres: url, schema } = broker.store;
  const { declareDatabaseRestored } = await import('@signalbox/postgres/internal');
  const { place, brokerId } = await declareDatabaseRestored({ url, schema });
  if (json) return printJson({ schema, broker_id: brokerId });
  printLines(
    `${place} counts as restored, as the new broker ${brokerId}.`,
    'Calls that wait in it and are not safe to repeat end as outcome_unknown. Clients send nothing again that may have been handled.',
    'Brokers and orchestrators that run on it end, and go on when they are started again.',
    'Tokens that were revoked after that moment are valid again: see them with signalbox token list',
  );
}
