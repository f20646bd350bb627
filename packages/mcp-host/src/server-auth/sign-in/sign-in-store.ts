import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { writeWhole } from '@signalbox/serving/whole-files';
import { z } from 'zod';
import { signInCommand } from './sign-in-command.ts';

const signInSchema = z.object({
  /** The URL of the MCP server. The token is never used for another one. */
  url: z.string(),
  /** The issuer of the token, which is the only one that sees it again. */
  issuer: z.string(),
  /** The resource for which the token was requested; empty if it is for no particular one. */
  resource: z.string(),
  clientId: z.string(),
  clientSecret: z.string().optional(),
  refreshToken: z.string(),
});

/** A person's sign-in to one server, as it is stored. */
export type SignIn = z.infer<typeof signInSchema>;

/** Stores sign-ins by the servers' names in the configuration. */
export interface RefreshTokenStore {
  /** Resolves with the sign-in to a server; `undefined` if nobody has signed in. */
  read(server: string): Promise<SignIn | undefined>;
  /** Stores a sign-in, and resolves when it is on disk. */
  write(server: string, signIn: SignIn): Promise<void>;
  /** Deletes a sign-in, and resolves with whether there was one. */
  forget(server: string): Promise<boolean>;
}

/**
 * Opens a store that keeps each sign-in in a file, which only this user can read. Reading rejects with `SignalboxError`
 * `auth_failed` if the file can't be read.
 */
export function openRefreshTokenFiles(directory: string): RefreshTokenStore {
  const pathOf = (server: string) => join(directory, fileName(server));
  return {
    async read(server) {
      const path = pathOf(server);
      const text = await readFile(path, 'utf8').catch((error) => {
        if (errnoOf(error) === 'ENOENT') return undefined;
        throw unreadable(server, path, messageOf(error));
      });
      return text === undefined ? undefined : parse(server, path, text);
    },
    async write(server, signIn) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await chmod(directory, 0o700);
      await writeWhole(pathOf(server), JSON.stringify({ server, ...signIn }));
    },
    async forget(server) {
      try {
        await rm(pathOf(server));
        return true;
      } catch (error) {
        if (errnoOf(error) === 'ENOENT') return false;
        throw error;
      }
    },
  };
}

/** Returns the name of a server's file. Its hash keeps servers apart whose names differ only in case or in signs. */
function fileName(server: string): string {
  const readable = server.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 40);
  const hash = createHash('sha256').update(server).digest('hex').slice(0, 12);
  return `${readable}-${hash}.json`;
}

function parse(server: string, path: string, text: string): SignIn {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unreadable(server, path, 'it is no JSON');
  }
  const { success, data, error } = signInSchema.safeParse(value);
  if (success) return data;
  throw unreadable(server, path, `'${error.issues[0]?.path.join('.')}' is missing or wrong`);
}

function unreadable(server: string, path: string, why: string): SignalboxError {
  const again = `sign in again: ${signInCommand(server)}`;
  return new SignalboxError('auth_failed', `the sign-in in ${path} can't be read (${why}); ${again}`);
}
