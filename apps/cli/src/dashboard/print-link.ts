import { makeSignInLink } from '@signalbox/client/operator';
import { withSession } from '../connection/client-session.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { formatDuration } from '../terminal/duration.ts';
import { printJson, printLines, printNotes } from '../terminal/output.ts';

/** The options of `signalbox dashboard`. */
export interface DashboardFlags extends ConnectionFlags {
  json?: boolean;
}

/** Prints a link to the dashboard that signs in the holder of the token. */
export async function printLink(flags: DashboardFlags): Promise<void> {
  const { links, expiresInMs } = await withSession(flags, ({ client }) => makeSignInLink(client));
  if (flags.json) return printJson({ links, expires_in_ms: expiresInMs });
  printLines(links[0]!);
  const others = links.slice(1).map((link) => `  or ${new URL(link).origin}`);
  const life = formatDuration(expiresInMs);
  printNotes(`It is good once, for ${life}, and gives the rights of your token.`, ...others);
}
