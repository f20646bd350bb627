import { parseDuration } from '@signalbox/protocol/duration';
import { parseInstant } from '@signalbox/protocol/internal';
import { type Command, InvalidArgumentError, Option } from 'commander';

/** The heading of the options that name the broker and the identity. They are the last ones in each help. */
export const connectionHeading = 'Connection:';

const tokenFileText = 'file that holds the token (or SIGNALBOX_TOKEN_FILE, SIGNALBOX_TOKEN)';

/**
 * Adds the options that name the broker and the identity. `agent: false` leaves out `--agent`, for
 * commands in which that option has another meaning.
 */
export function withConnectionOptions(
  command: Command,
  { agent = true, tokenFile = tokenFileText } = {},
): Command {
  command
    .addOption(urlOption())
    .addOption(insecureUrlOption())
    .addOption(caFileOption())
    .addOption(connectionOption('--token-file <file>', tokenFile));
  if (agent)
    command.addOption(
      connectionOption('--agent <agent>', 'agent id to act as (or SIGNALBOX_AGENT)').argParser((text) =>
        text.includes('#') ? addressOption(text) : agentOption(text),
      ),
    );
  return command.addOption(configOption().helpGroup(connectionHeading)).addOption(dataOption());
}

function connectionOption(flags: string, description: string): Option {
  return new Option(flags, description).helpGroup(connectionHeading);
}

/** Defines `--tools` for commands that start an agent. */
export function shownToolsOption(): Option {
  return new Option(
    '--tools <which>',
    'show it all tools, or only two: to search them and to call those that were found',
  )
    .choices(['all', 'search'])
    .default('all');
}

/** Defines `--role` for commands that make tokens for the agents that they start. */
export function tokenRoleOption(): Option {
  return new Option(
    '--role <role>',
    'role of the tokens that are made for the agents (only as the operator)',
  ).argParser(roleOption);
}

/** Defines `--ttl` beside {@link tokenRoleOption}. */
export function tokenTtlOption(): Option {
  return timeOption('--ttl <time>', 'how long such a token is valid at most; default 24h');
}

/** Defines `--keep-mcp` for commands that start an agent. */
export function keepMcpOption(): Option {
  return new Option('--keep-mcp', 'leave claude the MCP servers that it has of its own');
}

/** Defines `--permissions` of the commands that start agents. */
export function permissionsOption(): Option {
  return new Option(
    '--permissions <how>',
    'ask a person before the agent’s CLI uses tools of its own such as a shell (claude -p), or leave that to the CLI',
  )
    .choices(['cli', 'ask'])
    .default('cli');
}

/** Defines `--config`. */
export function configOption(): Option {
  return new Option(
    '--config <file>',
    'configuration; default SIGNALBOX_CONFIG, else signalbox.yaml here, in a parent folder or in ~/.config/signalbox',
  );
}

/** Defines `--data` for a command that connects. */
export function dataOption(): Option {
  return connectionOption(
    '--data <dir>',
    'data directory of a broker on this machine; default that of the configuration',
  );
}

/** Defines `--data` for a command that has its own data directory. */
export function ownDataOption(): Option {
  return new Option(
    '--data <dir>',
    'data directory; default from the config, else $XDG_STATE_HOME/signalbox',
  );
}

/** Defines `--take-over` for the commands that read an agent's inbox. */
export function takeOverOption(): Option {
  return new Option(
    '--take-over',
    'take the inbox from another process that reads it, which ends a worker serve or echo with its turns',
  );
}

/** Defines `--accept-loss` for the commands that start a broker. */
export function acceptLossOption(): Option {
  return new Option(
    '--accept-loss',
    'start on a data directory that has lost messages or tokens, with what is left',
  );
}

/** Defines `--allow-exposed` for the commands that start hosted servers. */
export function allowExposedOption(): Option {
  return new Option(
    '--allow-exposed',
    'start although a hosted server can reach the data directory or a token file',
  );
}

/** Defines `--insecure` for a command that listens. */
export function insecureListenOption(): Option {
  return new Option('--insecure', 'allow an address that other machines can reach, without encryption');
}

/** Defines `--url`. */
export function urlOption(): Option {
  return connectionOption(
    '--url <url>',
    'the broker, as in unix:/path/to/broker.sock, ws://127.0.0.1:7420 or wss://broker.example.com:7420; several with commas in between (or SIGNALBOX_URL)',
  );
}

/** Defines `--insecure` for a command that connects. */
export function insecureUrlOption(): Option {
  return connectionOption('--insecure', 'allow ws:// to another machine, although nothing is encrypted');
}

/** Defines `--ca-file`. */
export function caFileOption(): Option {
  return connectionOption(
    '--ca-file <file>',
    'for wss://: trust only the authorities whose certificates (PEM) are in the file (or SIGNALBOX_CA_FILE)',
  );
}

/** Adds the option that names the orchestrator. */
export function withOrchestratorOption(command: Command): Command {
  return command.addOption(
    connectionOption(
      '--orchestrator <name>',
      'agent id of the orchestrator; default from the config, else orchestrator',
    ),
  );
}

/** Adds `--json`. */
export function withJsonOption(command: Command): Command {
  return command.option('--json', 'print JSON for machines, failures as {"error":…}');
}

/** Adds examples at the end of a command's help. */
export function withExamples(command: Command, ...examples: string[]): Command {
  const title = examples.length === 1 ? 'Example' : 'Examples';
  return command.addHelpText('after', `\n${title}:\n${examples.map((line) => `  $ ${line}`).join('\n')}`);
}

/** Defines an option such as `--timeout 30s`, read as milliseconds; `byDefault` is written the same way. */
export function timeOption(flags: string, description: string, byDefault?: string): Option {
  const option = new Option(flags, description).argParser(milliseconds);
  return byDefault === undefined ? option : option.default(milliseconds(byDefault), byDefault);
}

/** Reads an instant, such as `2026-12-01T09:00` or one with a zone, as epoch milliseconds. */
export function instantOption(text: string): number {
  const at = parseInstant(text);
  if (at === undefined)
    throw new InvalidArgumentError('Write it like 2026-12-01T09:00, or with a zone: 2026-12-01T09:00+01:00.');
  return at;
}

/** Reads how long a token is valid: a time such as `30d` as milliseconds, or `never`. */
export function lifetimeOption(text: string): number | 'never' {
  if (text === 'never') return text;
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('Write it like 8h or 30d, or never.');
  return ms;
}

/** Reads a list with commas, as in `tester,writer`. */
export function listOption(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.includes('')) throw new InvalidArgumentError('Write it like tester,writer.');
  return parts;
}

function milliseconds(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('Write it like 500ms, 30s, 15m, 8h or 7d.');
  return ms;
}

/** Reads an option that is a whole number from 1. */
export function countOption(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Write a whole number from 1.');
  return Number(text);
}

/** Reads an address: an agent id, or one of its sub-inboxes. */
export function addressOption(text: string): string {
  if (text.includes(':')) return groupOption(text);
  if (/^[a-z0-9][a-z0-9_.-]{0,127}(#[A-Za-z0-9_.-]{1,64})?$/.test(text)) return text;
  throw new InvalidArgumentError('An inbox is a lower-case agent id, as in writer-1, agent#sub, or a group.');
}

/** Reads an agent id. */
export function agentOption(text: string): string {
  if (/^[a-z0-9][a-z0-9_.-]{0,127}$/.test(text)) return text;
  const [agent, inbox] = text.split('#');
  throw new InvalidArgumentError(
    inbox === undefined
      ? 'An agent id is lower-case, as in writer-1.'
      : `That is one inbox of an agent. Write the agent: ${agent}.`,
  );
}

/** Reads a group. */
export function groupOption(text: string): string {
  if (/^(group|role):[a-z0-9][a-z0-9_.-]{0,63}$/.test(text)) return text;
  throw new InvalidArgumentError('A group is role:ROLE or group:NAME in lower case, as in role:writer.');
}

/** Reads an agent id, or a group. */
export function agentOrGroupOption(text: string): string {
  return text.includes(':') ? groupOption(text) : agentOption(text);
}

/** Reads a role. */
export function roleOption(text: string): string {
  if (/^[a-z0-9][a-z0-9_.-]{0,63}$/.test(text)) return text;
  throw new InvalidArgumentError('A role is lower-case, as in researcher.');
}

/** Reads the name of a thread. */
export function threadOption(text: string): string {
  if (/^[!-~]{1,64}$/.test(text)) return text;
  throw new InvalidArgumentError('A thread is 1 to 64 printable ASCII characters without spaces.');
}

/** Reads a sequence number. */
export function seqOption(text: string): number {
  const seq = Number(text);
  if (/^[1-9]\d*$/.test(text) && Number.isSafeInteger(seq)) return seq;
  throw new InvalidArgumentError('A sequence number is a whole number from 1, as dead list shows it.');
}

/** Reads one more sequence number of a list. */
export function seqArguments(text: string, before: number[] = []): number[] {
  return [...before, seqOption(text)];
}

/** The part of the help of `up` and `orchestrator` about changes of the configuration. */
export const reloadHelp = `
It puts a changed configuration, and changed files that the configuration names, in force while it runs. The log says what changed
and what needs a restart. A wrong configuration changes nothing. SIGHUP makes it read the files at once; with a terminal, SIGHUP ends it.`;
