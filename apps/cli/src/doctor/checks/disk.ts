import { littleRoomBytes } from '@signalbox/client/operator/internal';
import { byteSize } from '../../terminal/byte-size.ts';
import { type Finding, failed, ok, warning } from '../finding.ts';
import type { FileSystemFacts } from '../machine.ts';

/** Free bytes below which messages are refused soon. */
const tooLittleBytes = 64 * 1024 * 1024;

const elsewhere = 'name a directory on a disk of this machine with broker.data or --data';

/** File systems by the number of statfs(2), with what they mean for a database. See statfs(2) for the numbers. */
const known: Readonly<Record<number, { name: string; kind: 'network' | 'doubtful' | 'fleeting' }>> = {
  26985: { name: 'NFS', kind: 'network' },
  20859: { name: 'SMB', kind: 'network' },
  4283649346: { name: 'CIFS', kind: 'network' },
  4266872130: { name: 'SMB', kind: 'network' },
  1397113167: { name: 'AFS', kind: 'network' },
  1937076805: { name: 'Coda', kind: 'network' },
  12805120: { name: 'Ceph', kind: 'network' },
  198183888: { name: 'Lustre', kind: 'network' },
  16914839: { name: '9p', kind: 'doubtful' },
  1702057286: { name: 'FUSE', kind: 'doubtful' },
  16914836: { name: 'tmpfs', kind: 'fleeting' },
  2240043254: { name: 'ramfs', kind: 'fleeting' },
};

/** Returns true if the data directory lies on a file system of another machine, where nothing should be opened. */
export function isNetworkFileSystem(
  { type }: Pick<FileSystemFacts, 'type'>,
  platform: NodeJS.Platform,
): boolean {
  return kindOf(type, platform)?.kind === 'network';
}

/** Judges the file system and the free space of the data directory. */
export function diskFindings(
  { type, freeBytes, files, freeFiles }: FileSystemFacts,
  { directory, platform }: { directory: string; platform: NodeJS.Platform },
): Finding[] {
  const found = [kindFinding(type, directory, platform), spaceFinding(freeBytes, directory)].flatMap(
    (finding) => finding ?? [],
  );
  if (files > 0 && freeFiles === 0) {
    found.push(
      failed(
        `no more files can be made on the disk of ${directory}`,
        'remove files there: df -i shows the count',
      ),
    );
  }
  return found.length > 0 ? found : [ok(`${byteSize(freeBytes)} free for ${directory}`)];
}

function kindFinding(type: number, directory: string, platform: NodeJS.Platform): Finding | undefined {
  const found = kindOf(type, platform);
  switch (found?.kind) {
    case 'network':
      return failed(
        `${directory} lies on ${found.name}, a network file system, on which databases are damaged sooner or later`,
        elsewhere,
      );
    case 'doubtful':
      return warning(
        `${directory} lies on ${found.name}: whether locks and syncs work there depends on what stands behind it`,
        elsewhere,
      );
    case 'fleeting':
      return warning(
        `${directory} lies on ${found.name}, in memory: all messages are lost when the machine starts again`,
        'name a directory on a disk with broker.data or --data',
      );
    default:
      return undefined;
  }
}

/** The numbers mean something else on other systems. They are 32 bits long, and some kernels give them with a sign. */
function kindOf(type: number, platform: NodeJS.Platform) {
  return platform === 'linux' ? known[type >>> 0] : undefined;
}

function spaceFinding(freeBytes: number, directory: string): Finding | undefined {
  if (freeBytes >= littleRoomBytes) return undefined;
  const text = `only ${byteSize(freeBytes)} are free on the disk of ${directory}`;
  const fix = `make room there: below ${byteSize(littleRoomBytes)} messages may soon be refused`;
  return freeBytes < tooLittleBytes ? failed(text, fix) : warning(text, fix);
}
