import { expect, it } from 'vitest';
import { SignalboxError } from '../signalbox-error.ts';
import type { ManifestRequest } from './mcp-request.ts';
import type { Manifest } from './tool.ts';
import { readWholeManifest } from './whole-manifest.ts';

const tool = (name: string) => ({ name, inputSchema: { type: 'object' as const } });
const moved = () => new SignalboxError('manifest_moved', 'it moved', { retryable: true });

/** An orchestrator whose list of two pages changes between them, unless it is kept for the reader. */
function changing() {
  const asked: ManifestRequest[] = [];
  let version = 0;
  const ask = async (request: ManifestRequest): Promise<Manifest> => {
    asked.push(request);
    if (request.cursor?.startsWith('kept')) return { version: 'kept', tools: [tool('b')] };
    if (request.cursor) throw moved();
    if (request.keep) return { version: 'kept', tools: [tool('a')], cursor: 'kept.1' };
    version++;
    return { version: `v${version}`, tools: [tool(`a${version}`)], cursor: '1' };
  };
  return { ask, asked };
}

it('starts over five times, and then reads the list that is kept for it', async () => {
  const { ask, asked } = changing();
  expect(await readWholeManifest(ask, 'old')).toEqual({ version: 'kept', tools: [tool('a'), tool('b')] });
  const firsts = asked.filter(({ cursor }) => cursor === undefined);
  expect(firsts.slice(0, 6)).toEqual(Array(6).fill({ op: 'manifest', known_version: 'old' }));
  expect(firsts.slice(6)).toEqual([{ op: 'manifest', known_version: 'old', keep: true }]);
});

it('never mixes pages of two versions', async () => {
  const answers: Manifest[] = [
    { version: '1', tools: [tool('a')], cursor: 'x' },
    { version: '2', tools: [tool('b')] },
    { version: '2', tools: [tool('c')], cursor: 'x' },
    { version: '2', tools: [tool('d')] },
  ];
  expect(await readWholeManifest(async () => answers.shift()!)).toEqual({
    version: '2',
    tools: [tool('c'), tool('d')],
  });
});

it('passes on that nothing has changed, and every other error', async () => {
  const unchanged: Manifest = { version: '1', unchanged: true };
  expect(await readWholeManifest(async () => unchanged, '1')).toEqual(unchanged);
  const failed = new SignalboxError('internal', 'no');
  await expect(readWholeManifest(() => Promise.reject(failed))).rejects.toBe(failed);
  const never = readWholeManifest(async ({ cursor }) => {
    if (cursor) throw moved();
    return { version: '1', tools: [], cursor: '1' };
  });
  await expect(never).rejects.toMatchObject({ code: 'manifest_moved', retryable: true });
});
