/** Returns the command with which a person signs in to a server, quoted for a shell. */
export function signInCommand(server: string): string {
  const word = /^[\w.-]+$/.test(server) ? server : `'${server.replaceAll("'", "'\\''")}'`;
  return `signalbox servers auth ${word}`;
}
