import { actAsAgent } from './fake-agent.ts';

/** opencode reads JSON from a variable, with one array for program and arguments. */
const { mcp, ...read } = JSON.parse(process.env.OPENCODE_CONFIG_CONTENT ?? '{}');
const { type, command, environment, enabled } = mcp.signalbox;
if (type !== 'local' || !enabled) throw new Error(`a server of type ${type}, enabled: ${enabled}`);
const [program, ...args] = command;
const others = Object.keys(mcp).filter((name) => name !== 'signalbox');
await actAsAgent({
  command: program,
  args,
  env: environment,
  handsOn: 'everything',
  read: { ...read, others },
});
