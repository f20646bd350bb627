import type { Config } from '../config.ts';
import { sharedListenAddress } from './listen-addresses.ts';
import { unknownMappedRoles } from './mapped-roles.ts';
import { unknownRecipients } from './unknown-recipients.ts';
import { unmatchedPatterns } from './unmatched-patterns.ts';

/** Warns of what is right by itself and does not go with the rest of a configuration. `file` is its name as people gave it. */
export function configWarnings(config: Config, file: string): string[] {
  return [
    ...unmatchedPatterns(config, file),
    ...unknownMappedRoles(config, file),
    ...sharedListenAddress(config, file),
    ...unknownRecipients(config, file),
  ];
}
