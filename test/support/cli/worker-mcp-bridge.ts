import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { connectMcpClient } from '../worker/mcp-client.ts';
import { cleanEnv, signalboxArgv } from './command-line.ts';

export async function workerMcp(env: Record<string, string>) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: signalboxArgv(['worker', 'mcp']),
    stderr: 'pipe',
    env: cleanEnv(env),
  });
  const client = await connectMcpClient(transport);
  return { client, pid: transport.pid!, stderr: transport.stderr! };
}
