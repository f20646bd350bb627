/** The facts of a file that decide who can read it, as `stat` reports them. */
export interface FileFacts {
  uid: number;
  mode: number;
}

/**
 * Returns why a private key must not be used, or `undefined`. A holder of the key can pretend to be this server and collect the tokens
 * of all clients, and nothing would show it. So a key that all users may read is refused, as database servers do. A group may read the
 * key, because systems give keys to services that way.
 */
export function exposedKey({ uid, mode }: FileFacts, user: number): string | undefined {
  if (uid !== user && uid !== 0) return `it belongs to user ${uid}, and this process runs as user ${user}`;
  if ((mode & 0o007) !== 0) return 'all users of this machine may read or change it';
  return (mode & 0o030) === 0 ? undefined : 'its group may change it';
}
