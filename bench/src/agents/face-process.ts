import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { command } from './agent-sessions.ts';

/** A face in a process of its own. It ends when it is disposed. */
export interface FaceProcess extends AsyncDisposable {
  pid: number;
  /** The fields of the line that it wrote when it was ready. */
  ready: Record<string, unknown>;
}

/** Starts `signalbox worker …`, and resolves when it says that it is ready: on standard output, or as HTTP faces do on standard error. */
export async function startFace(
  args: readonly string[],
  env: Record<string, string>,
  says: 'stdout' | 'stderr' = 'stdout',
): Promise<FaceProcess> {
  const other = says === 'stdout' ? 'stderr' : 'stdout';
  const face = spawn(process.execPath, [command, 'worker', ...args, '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  face[other].pipe(process.stderr);
  const exited = once(face, 'exit');
  const end = async (): Promise<void> => {
    face.kill();
    await exited;
  };
  const lines = createInterface(face[says]);
  const ended = exited.then(() => Promise.reject(new Error(`the face ended: worker ${args.join(' ')}`)));
  ended.catch(() => {});
  const [line] = await Promise.race([once(lines, 'line'), ended]);
  return { pid: face.pid!, ready: JSON.parse(line), [Symbol.asyncDispose]: end };
}
