import type { Config } from '@signalbox/daemon/config';
import { writableByOthers } from '@signalbox/daemon/config/internal';

/** Warns of files of a configuration that others may change, so that no change is put in force by itself. */
export function reloadWarnings({ files, capabilities }: Config): string[] {
  const reasons = new Set(
    [...Object.keys(files), ...capabilities].flatMap((path) => writableByOthers(path) ?? []),
  );
  return [...reasons].map((reason) => `${reason}: no change of the configuration is put in force by itself`);
}
