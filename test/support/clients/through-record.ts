import { join } from 'node:path';
import { signalboxArgv } from '../cli/command-line.ts';
import { serverScript, startWorkspace, type Workspace } from '../cli/workspace.ts';
import type { AgentCli } from './agent-clis.ts';
import { readResults } from './direct-record.ts';
import { nameOf, type Step, startScriptedModel } from './model-server.ts';
import { type ClientPlace, prepare, runToEnd } from './run-client.ts';
import { showsTool } from './tool-names.ts';

/** The calls that the model makes through Signalbox: of a hosted server, and of the mailbox. */
const steps: readonly Step[] = [
  [{ tool: 'mcp_everything__get-structured-content', args: { location: 'New York' } }],
  [{ tool: 'mcp_everything__echo', args: { message: 'hello' } }],
  [{ tool: 'signalbox_inbox_read' }],
];

/** The texts that an agent's model reads through Signalbox. */
export interface ThroughRecord {
  /** True if the first listing holds our tools. */
  isListed: boolean;
  names: Record<string, string | null>;
  /** True if the model reads the instructions, which tell of the mailbox and of the hosted servers. */
  readsInstructions: boolean;
  /** The forms in which the model reads a message: `data`, `texts` or both. */
  readsMailAs: string[];
  read: Record<string, unknown>;
}

/** Starts `signalbox up` with a public server, and with others. */
export function startThrough(others: (directory: string) => object = () => ({})): Promise<Workspace> {
  return startWorkspace(
    (directory) =>
      JSON.stringify({
        broker: { listen: '127.0.0.1:0', data: './state' },
        mcpServers: {
          everything: {
            command: process.execPath,
            args: [serverScript('@modelcontextprotocol/server-everything')],
          },
          ...others(directory),
        },
        roles: { reader: { tools: ['mcp_*'] } },
      }),
    { face: true },
  );
}

/** Runs a client with `worker run`, with one message in its inbox. */
export async function runThrough(
  cli: AgentCli,
  place: ClientPlace,
  workspace: Workspace,
): Promise<ThroughRecord> {
  await using model = await startScriptedModel(steps);
  const agent = `agent-${cli.name}`;
  // Mail is taken for agents that have a token.
  await workspace.agent(agent, 'reader');
  const sent = await workspace.run(['send', agent, 'a body to read', '--id', `note-${cli.name}`]);
  if (sent.code !== 0) throw new Error(`not sent: ${sent.stderr}`);
  const config = join(workspace.directory, 'signalbox.yaml');
  const { args, env } = await prepare(place, [cli.model(model.url, place.home)]);
  const command = [cli.name, ...args, ...cli.prompt('Use the tools.')];
  const run = [
    'worker',
    'run',
    '--config',
    config,
    '--agent',
    agent,
    '--role',
    'reader',
    '--no-hooks',
    '--',
    ...command,
  ];
  const output = await runToEnd([process.execPath, ...signalboxArgv(run)], place, env);
  const shown = (tool: string) => [...model.tools.values()].find(({ name }) => showsTool(name, tool));
  // The message itself has ids and times that are new in each run.
  const { signalbox_inbox_read: inbox, ...results } = readResults(steps, model);
  if (inbox === null)
    throw new Error(`it did not read its inbox through Signalbox, and said: ${output.slice(-2_000)}`);
  const mail = JSON.stringify(inbox).replaceAll('\\', '');
  return {
    isListed: model.first.some(({ name }) => showsTool(name, steps[0]![0]!.tool)),
    names: Object.fromEntries(
      steps.map(([{ tool } = { tool: '' }]) => {
        const found = shown(tool);
        return [tool, found ? nameOf(found) : null];
      }),
    ),
    readsInstructions: model.sent.some((one) => one.includes('says of itself')),
    readsMailAs: ['data', 'texts'].filter((form) =>
      mail.includes(form === 'data' ? '"body":' : '| a body to read'),
    ),
    read: results,
  };
}
