import type { ListenAddress } from '@signalbox/daemon/config';
import { formatListenAddress, tryListening } from '@signalbox/daemon/config/internal';
import { failureFinding } from '../failure-finding.ts';
import { type Finding, ok } from '../finding.ts';

/**
 * Judges whether a broker, an orchestrator or a bridge could listen at its address: tries it, and stops at once. `setting` names the address in
 * the configuration.
 */
export async function portFinding(
  listen: ListenAddress,
  setting: 'broker.listen' | 'orchestrator.listen' | 'a2a.listen' = 'broker.listen',
): Promise<Finding> {
  const elsewhere = `choose another address with ${setting} in the configuration`;
  const address = formatListenAddress(listen);
  if (listen.port === 0) return ok(`${address}: the system chooses a free port at the start`);
  try {
    await tryListening(listen, setting === 'broker.listen' ? undefined : elsewhere);
    return ok(`${address} is free`);
  } catch (error) {
    return failureFinding(error, elsewhere);
  }
}
