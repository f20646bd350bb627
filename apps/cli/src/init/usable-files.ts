import { checkConfigText } from '@signalbox/daemon/config';
import { messageOf } from '@signalbox/protocol';
import type { ClientFile } from './client-files.ts';

/** A file of another client that a configuration can name. */
export interface UsableFile extends ClientFile {
  /** The names of its servers. */
  servers: string[];
}

/** A file of another client that a configuration cannot name, and why. */
interface UnusableFile extends ClientFile {
  problem: string;
}

/** Sorts files of other clients by whether a configuration named `config` could name them, and gain servers by it. */
export async function sortFiles(
  files: readonly ClientFile[],
  config: string,
): Promise<{ usable: UsableFile[]; unusable: UnusableFile[] }> {
  const usable: UsableFile[] = [];
  const unusable: UnusableFile[] = [];
  for (const file of files) {
    try {
      const { mcpServers, warnings } = await checkConfigText(
        JSON.stringify({ mcpConfig: file.path }),
        config,
      );
      const servers = Object.keys(mcpServers);
      if (servers.length > 0) usable.push({ ...file, servers });
      else {
        // No configuration names the file yet.
        const problems = warnings.map((text) => text.split(`; ${config} names it in mcpConfig`, 1)[0]);
        unusable.push({ ...file, problem: problems.join('\n') || 'it holds no servers' });
      }
    } catch (error) {
      unusable.push({ ...file, problem: messageOf(error) });
    }
  }
  return { usable, unusable };
}
