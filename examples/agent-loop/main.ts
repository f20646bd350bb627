import { McpProxyExecutor } from '@signalbox/worker';
import { identityFrom } from '../identity.ts';
import { runAgent } from './agent-loop.ts';
import { scriptedModel } from './scripted-model.ts';

const task = 'Add up the numbers in the files of the folder, and save the total.';
/** Names each call that failed by its id, so that no failure passes in silence. */
const expected = 'The total is 42. Without: april.txt, march.txt, save, slow.';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

await using executor = await McpProxyExecutor.connect(identityFrom());
say(`${executor.agent} (role ${executor.role}) may use ${executor.toolCount} tools`);

const answer = await runAgent(
  executor,
  // Put a call of your model here: see Decide in agent-loop.ts.
  scriptedModel({ inventsTotal: process.argv.includes('--break') }),
  task,
  { say, timeoutMs: (tool) => (tool.endsWith('long-running-operation') ? 500 : 60_000) },
);

say(`answer: ${answer}`);
if (answer !== expected) {
  say(`WRONG: expected: ${expected}`);
  process.exitCode = 1;
}
