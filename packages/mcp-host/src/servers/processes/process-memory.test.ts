import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { memoryOf } from './process-memory.ts';

it.runIf(process.platform === 'linux')('counts a process with what it started', async () => {
  const script =
    "const {spawn}=require('child_process');spawn(process.execPath,['-e','console.log(1);process.stdin.resume()'],{stdio:'inherit'})";
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  const both = await memoryOf([child.pid!]);
  const own = await memoryOf([process.pid]);
  expect(both).toBeGreaterThan(50 * 1024 * 1024);
  expect(own).toBeGreaterThan(both!);
  child.stdin.end();
  await once(child, 'exit');
  expect(await memoryOf([child.pid!])).toBeUndefined();
  expect(await memoryOf([])).toBeUndefined();
});
