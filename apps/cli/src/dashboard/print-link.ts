import { spawn } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSignInLink } from '@signalbox/client/operator';
import { messageOf } from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { printJson, printLines, printNotes } from '../terminal/output.ts';

/** The options of `signalbox dashboard`. */
export interface DashboardFlags extends ConnectionFlags {
  open?: boolean;
  json?: boolean;
}

/** Prints a link to the dashboard that signs in the holder of the token, and opens it if that is wanted. */
export async function printLink(flags: DashboardFlags): Promise<void> {
  const { links, expiresInMs } = await withClient(flags, ({ client }) => makeSignInLink(client));
  if (flags.json) printJson({ links, expires_in_ms: expiresInMs });
  else {
    printLines(links[0]!);
    const others = links.slice(1).map((link) => `  or ${new URL(link).origin}`);
    const life = formatDuration(expiresInMs);
    printNotes(`It is good once, for ${life}, and gives the rights of your token.`, ...others);
  }
  const failure = flags.open ? await openInBrowser(links[0]!) : undefined;
  if (failure !== undefined)
    printNotes(`signalbox: no browser was opened: ${failure}; open the link by hand`);
}

/** The program that opens a file with the application for it. */
const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';

/** The time in which it fails, if it does, in milliseconds. One that runs for longer has become the browser itself. */
const failsWithinMs = 3000;

/**
 * Opens a link in the browser, through a file that only its user can read: other users of the machine see the arguments of all programs.
 * Resolves with the reason if that is not possible.
 */
async function openInBrowser(link: string): Promise<string | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-dashboard-'));
  const file = join(directory, 'open.html');
  const target = new URL(link).href.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  const page = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${target}">`;
  await writeFile(file, page, { mode: 0o600 });
  return await new Promise((resolve) => {
    const child = spawn(opener, [file], { stdio: 'ignore', detached: true });
    const timer = setTimeout(() => {
      child.unref();
      resolve(undefined);
    }, failsWithinMs);
    const end = (failure?: string): void => {
      clearTimeout(timer);
      resolve(failure);
    };
    child.once('error', (error) => end(messageOf(error)));
    child.once('exit', (code) => end(code === 0 ? undefined : `${opener} ended with ${code ?? 'a signal'}`));
  });
}
