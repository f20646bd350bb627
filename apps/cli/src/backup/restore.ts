import { resolve } from 'node:path';
import { restoreBackup } from '@signalbox/daemon/backup';
import { printJson, printLines } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { contentLines } from './verify.ts';

/** The options of `signalbox restore`. */
export interface RestoreFlags {
  data: string;
  revokeTokens?: boolean;
  json?: boolean;
}

/** Restores a backup and prints what must be known about the result. */
export async function restore(
  directory: string,
  { data, revokeTokens = false, json }: RestoreFlags,
): Promise<void> {
  const backup = resolve(directory);
  const dataDir = resolve(data);
  const restored = await restoreBackup({ backup, dataDir, revokeTokens, now: Date.now() });
  const { brokerId, madeAt, contents, tokens } = restored;
  const at = new Date(madeAt).toISOString();
  if (json) {
    return printJson({ data: dataDir, broker_id: brokerId, made_at: madeAt, contents, tokens });
  }
  printLines(
    `restored to ${dataDir} as the new broker ${brokerId}`,
    ...contentLines(contents).map((line) => `  ${line}`),
    '',
    `What happened after ${at} is not in it. Calls that wait and are not safe to repeat end as outcome_unknown.`,
    revokeTokens
      ? `All tokens were dropped (${tokens.dropped}), those of operators included: issue new ones.`
      : `Tokens that were revoked after ${at} are valid again: see them with token list, or restore with --revoke-tokens.`,
    'A new operator token is issued at the start. Sign in to MCP servers again where that is needed.',
    'Next: start it with the configuration that the backed-up broker had',
    `  ${shellWords('signalbox', 'up', '--data', dataDir)} --config signalbox.yaml`,
  );
}
