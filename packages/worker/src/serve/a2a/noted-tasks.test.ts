import { mkdtempDisposable, readdir, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NotedTasks } from './noted-tasks.ts';

test('Notes are there again, broken ones are none, and old ones are forgotten.', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'noted-tasks-'));
  const place = { thread: 'talk', from: 'walt' };
  const notes = await NotedTasks.open(folder.path);
  await notes.noteTask('one', { id: 'one', from: 'walt', contextId: 'c', taskId: 't' });
  await notes.noteTask('two', { id: 'two', from: 'walt', contextId: 'c' });
  await notes.noteQuestion(place, { contextId: 'c', taskId: 't', mark: 'm' });
  const [broken] = (await readdir(folder.path)).filter((name) => name.startsWith('task-'));
  await writeFile(join(folder.path, broken!), '{"contextId":');
  await writeFile(join(folder.path, 'task-1.json.abc.new'), 'a draft that a kill left');

  const again = await NotedTasks.open(folder.path);
  const found = [await again.task('one'), await again.task('two')].filter(Boolean);
  expect(found).toHaveLength(1);
  expect(await again.question(place)).toEqual({ contextId: 'c', taskId: 't', mark: 'm' });
  expect(await again.question({ ...place, from: 'wim' })).toBeUndefined();
  expect(await readdir(folder.path)).toHaveLength(3);

  for (const name of await readdir(folder.path)) await utimes(join(folder.path, name), 1, 1);
  await NotedTasks.open(folder.path);
  expect(await readdir(folder.path)).toEqual([]);
});
