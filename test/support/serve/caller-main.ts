import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

/** A program of one turn that has a hosted tool echo the message, and answers with what that says. */
const client = new Client({ name: 'caller', version: '1.0.0' });
const [command = '', ...args] = process.argv.slice(2);
const env = process.env as Record<string, string>;
await client.connect(new StdioClientTransport({ command, args, env, stderr: 'ignore' }));
const { messages } = JSON.parse(readFileSync(env.SIGNALBOX_MESSAGE_FILE!, 'utf8'));
const echoed = await client.callTool({
  name: 'mcp_everything__echo',
  arguments: { message: String(messages[0].body) },
});
await client.close();
process.stdout.write((echoed.content as { text: string }[])[0]!.text);
