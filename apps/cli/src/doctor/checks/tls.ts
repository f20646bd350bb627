import { readPair } from '@signalbox/daemon/tls';
import { certificateLife, checkCertificate, endsSoon } from '@signalbox/serving/tls';
import { failureFinding } from '../failure-finding.ts';
import { type Finding, failed, ok, warning } from '../finding.ts';

const renew = 'renew it: a process that runs reads the files again when they change';

/** Judges whether clients would accept a certificate, and the server its key. `now` in epoch milliseconds. */
export async function tlsFinding(
  files: { cert: string; key: string },
  now: number,
  setting: 'broker.tls' | 'a2a.tls' = 'broker.tls',
): Promise<Finding> {
  try {
    const pair = await readPair(files);
    const { ok: isGood, detail } = checkCertificate(pair, now);
    if (!isGood) return failed(`${detail}, so that clients refuse it`, renew);
    return endsSoon(certificateLife(pair), now) ? warning(`${detail} only`, renew) : ok(detail);
  } catch (error) {
    return failureFinding(error, `name a certificate and its own private key in ${setting}, both in PEM`);
  }
}
