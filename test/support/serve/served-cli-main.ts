import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

/**
 * Acts as copilot or qwen in one turn: it reads the prompt, calls a tool of the server in the file that its option names, and prints events
 * as that CLI does. If the message says so, it fails with the output that was recorded when the API of the CLI's model refused.
 */
const recorded = new URL('../../../packages/worker/src/serve/program/recorded/', import.meta.url);
const refusals: Record<string, string> = {
  copilot: 'copilot-1.0.102-refused.txt',
  qwen: 'qwen-0.24.4-refused.txt',
};
const [cli = '', ...words] = process.argv.slice(2);
const given = (option: string): string | undefined =>
  words.find((word) => word.startsWith(`${option}=`))?.slice(option.length + 1);
const print = (...events: object[]): void => {
  for (const event of events) process.stdout.write(`${JSON.stringify(event)}\n`);
};

const file = cli === 'copilot' ? given('--additional-mcp-config')?.slice(1) : given('--mcp-config');
if (words.includes('--help')) {
  process.stdout.write('--output-format (json, stream-json) --resume --additional-mcp-config --mcp-config\n');
} else if ((await text(process.stdin)).includes('| refuse')) {
  process.stdout.write(readFileSync(new URL(refusals[cli] ?? '', recorded)));
  process.exitCode = 1;
} else {
  const said = `${await echoed()}, ${given('--resume') ?? 'a new session'}`;
  if (cli === 'copilot')
    print(
      { type: 'assistant.message', data: { content: said } },
      { type: 'result', sessionId: 'session-1', exitCode: 0 },
    );
  else print({ type: 'result', session_id: 'session-1', is_error: false, result: said });
}

async function echoed(): Promise<string> {
  const { command, args, env } = JSON.parse(readFileSync(file ?? '', 'utf8')).mcpServers.signalbox;
  const client = new Client({ name: 'served-cli', version: '1.0.0' });
  await client.connect(
    new StdioClientTransport({ command, args, env: { ...process.env, ...env }, stderr: 'ignore' }),
  );
  const { content } = await client.callTool({
    name: 'mcp_everything__echo',
    arguments: { message: 'hello' },
  });
  await client.close();
  return (content as { text: string }[])[0]!.text;
}
