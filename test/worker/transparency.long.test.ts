import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { startFixture } from '../support/conformance/fixture-server.ts';
import { npmServer } from '../support/mcp-host/test-servers.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import {
  connectFace,
  connectProcess,
  connectUrl,
  type Era,
  type McpClient,
} from '../support/worker/mcp-client.ts';

type Json = Record<string, unknown>;
type Calls = Record<string, Json>;

/** Every tool of server-everything that reads only; `get-env` is left out, as it tells two processes apart. */
const callsOfEverything: Calls = {
  echo: { message: 'ä \u0000 \u{1f600}' },
  'get-annotated-message': { messageType: 'error', includeImage: true },
  'get-resource-links': { count: 2 },
  'get-resource-reference': { resourceType: 'Text', resourceId: 2 },
  'get-structured-content': { location: 'Chicago' },
  'get-sum': { a: 0.1, b: 2 },
  'get-tiny-image': {},
  'trigger-long-running-operation': { duration: 0.02, steps: 2 },
};

function callsOfFiles(directory: string): Calls {
  const path = join(directory, 'a.txt');
  return {
    read_file: { path },
    read_text_file: { path, head: 1 },
    read_media_file: { path: join(directory, 'b.png') },
    read_multiple_files: { paths: [path, join(directory, 'missing')] },
    list_directory: { path: directory },
    list_directory_with_sizes: { path: directory },
    directory_tree: { path: directory },
    search_files: { path: directory, pattern: '*.txt' },
    get_file_info: { path },
    list_allowed_directories: {},
  };
}

const callsOfFixture: Calls = {
  test_simple_text: {},
  test_image_content: {},
  test_audio_content: {},
  test_embedded_resource: {},
  test_multiple_content_types: {},
  test_rich_result: { value: 12 },
  test_error_handling: {},
  test_rpc_error: {},
  test_tool_with_progress: {},
  json_schema_2020_12_tool: { name: 'n', contactMethod: 'phone', phone: '1' },
};

/** The field in which a server of the 2026 revision names itself in its answers; hosted, it does so for callers of older revisions too. */
const signature = 'io.modelcontextprotocol/serverInfo';

/** Returns an answer without the parts in which two runs or two revisions may differ. */
function essence(answer: Json): Json {
  const { _meta, ...rest } = answer;
  const { [signature]: _signature, ...meta } = (_meta ?? {}) as Json;
  const timeless = JSON.stringify({ ...rest, ...(Object.keys(meta).length > 0 && { _meta: meta }) })
    .replace(/\d{1,2}:\d{2}:\d{2}( [AP]M)?/g, 'TIME')
    .replace(/"uuid-[^"]*"/g, '"ID"');
  return JSON.parse(timeless);
}

async function answersOf(client: McpClient, calls: Calls, prefix = ''): Promise<Record<string, Json>> {
  const answers: Record<string, Json> = {};
  for (const [name, args] of Object.entries(calls)) {
    const answer = await client
      .call(`${prefix}${name}`, args)
      .catch(({ code, message, data }) => ({ error: { code, message, data } }));
    answers[name] = essence(answer as Json);
  }
  return answers;
}

/** Lists tools by their own names. The 2026 revision has no `execution`, so the SDK removes it from lists. */
async function listOf(client: McpClient, era: Era, prefix = ''): Promise<Map<unknown, Json>> {
  const tools = (await client.list()).filter(({ name }) => String(name).startsWith(prefix));
  return new Map(
    tools.map(({ execution, ...tool }) => {
      const name = String(tool.name).slice(prefix.length);
      return [name, { ...tool, name, ...(era === 'legacy' && execution !== undefined && { execution }) }];
    }),
  );
}

test('What servers list and answer arrives at clients of both eras as it was, names aside.', async () => {
  await using directory = await tempDir();
  const files = join(directory.path, 'files');
  await mkdir(files);
  await writeFile(join(files, 'a.txt'), 'first\nsecond\n');
  await writeFile(join(files, 'b.png'), Buffer.from([137, 80, 78, 71]));
  const [everything, filesystem] = [npmServer('everything', 'stdio'), npmServer('filesystem', files)];
  await using fixture = await startFixture();
  await using stack = await startToolStack({
    servers: { everything, filesystem, fixture: { type: 'http', url: fixture.url, prefix: false } },
  });
  const executor = await stack.executor('agent');
  await using ofEverything = await connectProcess(everything);
  await using ofFiles = await connectProcess(filesystem);

  for (const era of ['legacy', 'modern'] as const) {
    await using face = await connectFace(executor, { era });
    expect(face.client.getProtocolEra()).toBe(era);
    await using ofFixture = await connectUrl(fixture.url, { era });
    const hosts: [McpClient, Calls, string][] = [
      [ofEverything, callsOfEverything, 'mcp_everything__'],
      [ofFiles, callsOfFiles(files), 'mcp_filesystem__'],
      [ofFixture, callsOfFixture, ''],
    ];
    for (const [direct, calls, prefix] of hosts) {
      const proxied = await listOf(face, era, prefix);
      for (const [name, tool] of await listOf(direct, era)) expect(proxied.get(name)).toEqual(tool);
      const answers = await answersOf(direct, calls);
      expect(await answersOf(face, calls, prefix)).toEqual(answers);
      expect(Object.keys(answers)).toEqual(Object.keys(calls));
    }
  }
});
