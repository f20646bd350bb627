import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { requestAddress } from '@signalbox/client';
import { loadConfig } from '@signalbox/daemon/config';
import { findConfig, settledPath } from '@signalbox/daemon/config/internal';
import { dataDirectory, runningAddresses } from '@signalbox/daemon/data-directory';
import {
  agentOf,
  agentOfToken,
  isJwt,
  issuerOfToken,
  parseBrokerAddress,
  SignalboxError,
} from '@signalbox/protocol';
import { suggestion } from '@signalbox/protocol/internal';
import {
  clientSnippet,
  type FaceTarget,
  type SnippetClient,
  type SnippetFile,
  snippetClients,
} from '@signalbox/worker/internal';
import { openClient } from '../connection/connected-client.ts';
import {
  type Connection,
  type ConnectionFlags,
  hasAddress,
  resolveConnection,
} from '../connection/connection.ts';
import { ownCommand } from '../process/own-command.ts';
import { linesOf, printJson, printLines, printNotes } from '../terminal/output.ts';
import { expiryWarning } from '../token/token-expiry.ts';
import { faceSocketName } from './face-socket.ts';

/** The options of `signalbox worker config`. */
export interface WorkerConfigFlags extends ConnectionFlags {
  client?: string;
  /** The URL of an HTTP face that runs already. */
  http?: string;
  tools?: 'all' | 'search';
  /** Prints what lets the client call the tools without asking a person, too. */
  allow?: boolean;
  json?: boolean;
}

/** Prints a snippet for a client's configuration on standard output, and notes about it on standard error. */
export async function printWorkerConfig(flags: WorkerConfigFlags): Promise<void> {
  const client = knownClient(flags.client);
  const { target, problem } =
    flags.http === undefined
      ? await ownFace(flags)
      : { target: runningFace(flags, flags.http), problem: undefined };
  const { notes, permissions, ...entry } = clientSnippet(client, target, { allow: flags.allow });
  if (problem !== undefined) notes.unshift(problem);
  const imported = await importNote(entry.file, flags.config);
  if (flags.json) {
    return printJson({
      client,
      ...asJson(entry),
      permissions: permissions.map(asJson),
      notes,
      ...(imported && { warning: imported }),
    });
  }
  if (imported) notes.push(imported);
  printNotes(`This goes into ${entry.file}. ${addIt}`, ...notes.map((note) => `- ${note}`), '');
  printLines(linesOf(entry.text.trimEnd()));
  for (const { file, text } of permissions) {
    printNotes('', `This goes into ${file}. ${addIt}`, '');
    printLines(linesOf(text.trimEnd()));
  }
}

const addIt = 'Add it to what the file has; do not replace the file.';

function asJson({ file, format, text }: SnippetFile) {
  return { file, format, snippet: text };
}

/** Returns a warning if Signalbox imports the servers of the file into which its own entry is going to be pasted. */
async function importNote(pasted: string, configFile: string | undefined): Promise<string | undefined> {
  const files = new Set<string>();
  const file = await configWith((path) => files.add(settledPath(path)), configFile);
  const target = settledPath(resolve(pasted.replace(/^~(?=\/)/, homedir)));
  if (file === undefined || !files.has(target)) return undefined;
  return (
    `${file} imports the servers of ${pasted} (mcpConfig): Signalbox leaves its own entry there out, so that it does not serve itself; ` +
    `the client starts the other servers there itself, so that agents get them twice: move these to another file and name that one in mcpConfig, or to mcpServers in ${file}`
  );
}

/** Returns the configuration that is found, and tells which files it names. `config check` says what is wrong with it. */
async function configWith(
  onFile: (path: string) => void,
  named: string | undefined,
): Promise<string | undefined> {
  try {
    const found = findConfig(named);
    await loadConfig(found?.file, { parts: ['mcpConfig'], onFile });
    return found?.file;
  } catch {
    return undefined;
  }
}

function knownClient(name: string | undefined): SnippetClient {
  const known = snippetClients.find((client) => client === name);
  if (known) return known;
  const problem =
    name === undefined
      ? '--client NAME is missing'
      : `there is no client '${name}'${suggestion(name, snippetClients)}`;
  throw new SignalboxError('usage', problem, {
    details: {
      hint: `there are: ${snippetClients.join(', ')}; any other MCP client starts: signalbox worker mcp --token-file FILE`,
    },
  });
}

/**
 * Returns the command line and the environment that start `signalbox worker mcp` as the agent of the token, and what is wrong with that
 * token at the broker.
 */
async function ownFace(
  flags: WorkerConfigFlags,
): Promise<{ target: FaceTarget; problem: string | undefined }> {
  const named = flags.tokenFile ?? (process.env.SIGNALBOX_TOKEN_FILE || undefined);
  if (named === undefined) {
    throw new SignalboxError('usage', 'the client has to be told which file holds the agent’s token', {
      details: {
        hint: 'issue one with signalbox token issue --out FILE, and pass it with --token-file; or use --http URL',
      },
    });
  }
  const tokenFile = resolve(named);
  const connection = await resolveConnection({ ...flags, tokenFile });
  const agent = agentOf(connection.agent);
  checkToken(connection, agent, tokenFile);
  const { command, args } = ownCommand();
  const orchestrator = await connection.orchestrator();
  const options = [
    ...(connection.insecure ? ['--insecure'] : []),
    ...(flags.tools === 'search' ? ['--tools', 'search'] : []),
    ...(orchestrator === 'orchestrator' ? [] : ['--orchestrator', orchestrator]),
  ];
  const face = await faceBesideBroker(connection.url, flags);
  const env = {
    SIGNALBOX_URL: connection.url,
    SIGNALBOX_AGENT: agent,
    SIGNALBOX_TOKEN_FILE: tokenFile,
    ...(connection.authorities && { SIGNALBOX_CA_FILE: connection.authorities.file }),
    // Beside a Unix socket, worker mcp finds the face itself.
    ...(face !== undefined && { SIGNALBOX_FACE: face }),
  };
  return {
    target: { faceCommand: { command, args: [...args, 'worker', 'mcp', ...options], env } },
    problem: await tokenProblem(connection, agent),
  };
}

/** Returns the socket of the face that serves the broker of a TCP address on this machine, if one is there. */
async function faceBesideBroker(url: string, flags: WorkerConfigFlags): Promise<string | undefined> {
  try {
    const found = findConfig(flags.config);
    const config = await loadConfig(found?.file, { parts: ['broker'] });
    const isNamed = flags.data !== undefined || (found !== undefined && found.by !== 'search');
    const running = runningAddresses(dataDirectory(flags.data, config), { isNamed });
    const isOfBroker = running.url !== undefined && hasAddress(url, running.url);
    if (!isOfBroker || running.socket === undefined) return undefined;
    const path = join(dirname(parseBrokerAddress(running.socket).socketPath ?? ''), faceSocketName);
    return statSync(path, { throwIfNoEntry: false })?.isSocket() ? path : undefined;
  } catch {
    // The snippet works without a face.
    return undefined;
  }
}

/** Throws `usage` if the broker would refuse a worker with this token. */
function checkToken({ token, mintingPattern }: Connection, agent: string, tokenFile: string): void {
  if (mintingPattern !== undefined) {
    throw new SignalboxError(
      'usage',
      `${tokenFile} holds a minting token, with which no worker can connect`,
      {
        details: { hint: 'issue the agent’s own: signalbox token issue --agent NAME --role ROLE --out FILE' },
      },
    );
  }
  // Which claim of a JWT names the agent is the broker's to say.
  const holder = isJwt(token) ? undefined : agentOfToken(token);
  if (holder === undefined || holder === agent) return;
  throw new SignalboxError('usage', `the token in ${tokenFile} is for '${holder}', not for '${agent}'`, {
    details: { hint: 'leave --agent out, or pass the token file of that agent' },
  });
}

/** Returns the URL of a face that runs already; that face decides which tools it lists, and the client brings the token. */
function runningFace({ tools }: WorkerConfigFlags, http: string): FaceTarget {
  if (tools === undefined) return { url: faceUrl(http) };
  throw new SignalboxError(
    'usage',
    '--tools means nothing with --http: the face there decides which it lists',
    {
      details: {
        hint: 'leave --tools out, and start that face with it: signalbox worker mcp --http … --tools search',
      },
    },
  );
}

function faceUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (!isPlain) {
    throw new SignalboxError('usage', `--http '${text}' is not the URL of an HTTP face`, {
      details: { hint: 'it looks like http://127.0.0.1:7421/mcp, as signalbox worker mcp --http prints it' },
    });
  }
  if (url.pathname === '/') url.pathname = '/mcp';
  return url.href;
}

/** The longest wait for a broker, in milliseconds: a snippet can be pasted before the broker runs. */
const brokerTimeoutMs = 2000;

/**
 * Returns what is wrong with an agent's token: that the broker refuses it, or that it ends soon. Returns `undefined` if it is good, or no
 * broker answers.
 */
async function tokenProblem(connection: Connection, agent: string): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(brokerTimeoutMs);
    await using client = await openClient(connection, requestAddress(agent), { signal });
    const { token } = client.welcome;
    const issuer = issuerOfToken(connection.token);
    const times = token && { agent, role: client.role, issuer, ...token };
    return times && expiryWarning(times, Date.now(), connection.tokenFile);
  } catch (error) {
    if (!(error instanceof SignalboxError) || error.code !== 'unauthorized') return undefined;
    return `the broker refuses this token: ${error.message}; ${String(error.details.hint)}`;
  }
}
