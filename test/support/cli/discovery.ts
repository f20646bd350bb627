import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startWorkspace, type Workspace } from './workspace.ts';

/** Starts `up`, and returns it with a folder two levels below that of its configuration. */
export async function startAboveFolder(): Promise<{ workspace: Workspace; below: string }> {
  const workspace = await startWorkspace(() =>
    JSON.stringify({
      broker: { listen: '127.0.0.1:0', data: './state' },
      orchestrator: { id: 'tools-1' },
      roles: { researcher: { tools: ['*'] } },
    }),
  );
  const below = join(workspace.directory, 'files', 'deep');
  await mkdir(below);
  await chmod(join(workspace.directory, 'signalbox.yaml'), 0o644);
  await chmod(join(workspace.directory, 'files'), 0o755);
  return { workspace, below };
}
