import type { Config } from '@signalbox/daemon/config';
import { count } from '../../terminal/output.ts';
import { failureFinding } from '../failure-finding.ts';
import { type Finding, ok, warning } from '../finding.ts';

/** Looks at the database of a broker that does not run, as the broker would at its start. */
export async function postgresFinding({
  postgres: url,
  schema,
}: NonNullable<Config['broker']['store']>): Promise<Finding> {
  // The driver is loaded only if the configuration names a database.
  const { examineDatabase } = await import('@signalbox/postgres/internal');
  try {
    const { place, version, receiptMeans, brokers } = await examineDatabase({ url, schema });
    const others = brokers
      ? `${count(brokers.length, 'broker')} on it`
      : 'a broker makes its tables at its first start';
    const text = `messages are in ${place}: version ${version}, receipts: ${receiptMeans}, ${others}`;
    if (receiptMeans !== 'written') return ok(text);
    return warning(text, 'set fsync and synchronous_commit on, or a power cut loses messages with a receipt');
  } catch (error) {
    return failureFinding(error, 'the broker does not start before: correct broker.store, or the server');
  }
}
