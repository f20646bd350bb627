import { existsSync } from 'node:fs';
import type { Config } from '../config.ts';
import { sharedListenAddress } from './listen-addresses.ts';
import { literalValues } from './literal-values.ts';
import { unknownMappedRoles } from './mapped-roles.ts';
import { outsideRoles } from './outside-roles.ts';
import { unknownRecipients } from './unknown-recipients.ts';
import { unmatchedPatterns } from './unmatched-patterns.ts';

/** Warns of settings that are valid alone and contradict other parts of the configuration. `file` is the name that people gave it. */
export function configWarnings(config: Config, file: string): string[] {
  return [
    ...unmatchedPatterns(config, file),
    ...unknownMappedRoles(config, file),
    ...sharedListenAddress(config, file),
    ...unknownRecipients(config, file),
    ...outsideRoles(config, file),
    ...literalValues(config),
    ...missingCapabilities(config, file),
  ];
}

function missingCapabilities({ capabilities }: Config, file: string): string[] {
  return capabilities
    .filter((path) => !existsSync(path))
    .map((path) => `${file}: capabilities: there is no file or folder ${path}`);
}
