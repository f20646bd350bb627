import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/**
 * A hand-written stdio MCP server. It answers with the results of the file `RESULTS_FILE` (`{method: {key: result}}`), whatever they are.
 * A list holds the entries of all keys, or of the key that `_meta.only` names. Another answer has the key that the request names.
 */
const results = JSON.parse(readFileSync(process.env.RESULTS_FILE!, 'utf8')) as Record<string, Json>;
const listFields: Record<string, string> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};

type Json = Record<string, unknown>;
interface Incoming {
  id?: number;
  method: string;
  params?: { uri?: string; arguments?: { key?: string }; _meta?: { only?: string } };
}

function answer({ method, params = {} }: Incoming): unknown {
  if (method === 'initialize') {
    const serverInfo = { name: 'odd', version: '1' };
    return {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, prompts: {}, resources: {} },
      serverInfo,
    };
  }
  const field = listFields[method];
  const ofMethod = results[method] ?? {};
  if (field === undefined) return ofMethod[params.arguments?.key ?? params.uri ?? ''];
  const only = params._meta?.only;
  return { [field]: only === undefined ? Object.values(ofMethod) : [ofMethod[only]] };
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line) as Incoming;
  if (message.id === undefined) return;
  const result = answer(message);
  const outcome = result === undefined ? { error: { code: -32601, message: message.method } } : { result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...outcome })}\n`);
});
