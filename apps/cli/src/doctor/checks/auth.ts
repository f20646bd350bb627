import type { AuthEntry } from '@signalbox/daemon/config';
import { usableKeys } from '@signalbox/daemon/identity-provider';
import { messageOf } from '@signalbox/protocol';
import { count as countOf } from '../../terminal/output.ts';
import { type Finding, failed, ok } from '../finding.ts';

/** Judges whether tokens of the identity provider could be checked: asks it for its keys, as a broker does. */
export async function authFinding({ issuer }: Pick<AuthEntry, 'issuer'>): Promise<Finding> {
  try {
    const count = await usableKeys(issuer);
    if (count > 0) return ok(`${issuer} answers, and publishes ${countOf(count, 'key')} that can be used`);
    return failed(
      `${issuer} publishes no key for RS256, ES256 or EdDSA, so that none of its tokens is accepted`,
      'choose one of these algorithms at the provider',
    );
  } catch (error) {
    return failed(
      `the keys of ${issuer} can't be had, so that its tokens are not accepted: ${messageOf(error)}`,
      'compare auth.issuer with the name in its metadata, and reach it from this machine; NODE_EXTRA_CA_CERTS names a private authority',
    );
  }
}
