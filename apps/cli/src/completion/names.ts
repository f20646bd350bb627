import { listTokens, queryOrchestrator, readManifest } from '@signalbox/client/operator';
import { type ConnectedClient, openClient, ownAddress } from '../connection/connected-client.ts';
import { type ConnectionFlags, resolveConnection } from '../connection/connection.ts';
import { WaitingNote } from '../connection/waiting-note.ts';
import { listedRoles } from '../token/listed-roles.ts';

/** The longest wait for the system, in milliseconds. With the start of this process, a shell waits about a second. */
const deadlineMs = 700;

/** The readers of the names that a shell completes, by what a placeholder in a command line is called. */
const readers: Readonly<
  Record<string, (connected: ConnectedClient, flags: ConnectionFlags) => Promise<string[]>>
> = {
  agent: agentNames,
  label: async ({ client, connection }) => {
    const { hosts = [] } = await queryOrchestrator(client, await connection.orchestrator(), {
      op: 'servers',
    });
    return hosts.map(({ host }) => host);
  },
  role: async (connected, flags) => {
    const [listed, callers] = await Promise.all([
      listedRoles(flags, connected.connection.url).catch(() => undefined),
      connected.client.listConnected(),
    ]);
    return [...Object.keys(listed?.roles ?? {}), ...callers.map(({ role }) => role)];
  },
  server: async ({ client, connection }) => {
    const { servers } = await queryOrchestrator(client, await connection.orchestrator(), { op: 'servers' });
    return servers.map(({ name }) => name);
  },
  tool: async ({ client, connection }) => {
    const { tools = [] } = await readManifest(client, await connection.orchestrator(), {});
    return tools.map(({ name }) => name);
  },
};

/**
 * Prints the names of one kind that the running system has, a line for each. `words` are those of the typed line. Fails silently, and
 * soon.
 */
export async function printNames(kind: string, words: readonly string[]): Promise<void> {
  setTimeout(() => process.exit(0), deadlineMs).unref();
  try {
    const flags = connectionFlags(words);
    const connection = await resolveConnection(flags, process.env, { warn: () => {} });
    await using client = await openClient(connection, ownAddress(connection));
    const names =
      (await readers[kind]?.({ client, connection, waits: new WaitingNote({ json: true }) }, flags)) ?? [];
    // A shell may read other characters as its own.
    const plain = new Set(names.filter((name) => /^\w[\w.:-]*$/.test(name)));
    process.stdout.write(
      [...plain]
        .sort()
        .map((name) => `${name}\n`)
        .join(''),
    );
  } catch {
    // Nobody asked a question: a shell that has no names shows none.
  }
}

/** Lists the agents that have a token or are connected. Only operators and observers see the tokens. */
async function agentNames({ client }: ConnectedClient): Promise<string[]> {
  const [connected, tokens] = await Promise.all([client.listConnected(), listTokens(client).catch(() => [])]);
  return [...connected, ...tokens].map(({ agent }) => agent).filter((agent) => !/^operator\b/.test(agent));
}

/** Reads the options of a typed line that say which broker it means, and as whom. */
function connectionFlags(words: readonly string[]): ConnectionFlags {
  const given = (option: string): string | undefined =>
    words.flatMap((word, at) =>
      word === option
        ? (words[at + 1] ?? [])
        : word.startsWith(`${option}=`)
          ? word.slice(option.length + 1)
          : [],
    )[0];
  const named = {
    url: given('--url'),
    caFile: given('--ca-file'),
    tokenFile: given('--token-file'),
    config: given('--config'),
    data: given('--data'),
  };
  const used = Object.entries(named).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(used), insecure: words.includes('--insecure') };
}
