import type { Config } from '../config.ts';
import { exposesConfiguration } from './exposures.ts';
import { writableByOthers } from './writable-by-others.ts';

/**
 * Returns why a change of these files must not be put in force by itself: another user could have made it, or a hosted server, if
 * `isExposed`. Returns `undefined` if there is no such reason.
 */
export function changeObstacle(files: Iterable<string>, isExposed: boolean): string | undefined {
  if (isExposed) return 'a hosted server can reach it';
  for (const file of files) {
    const why = writableByOthers(file);
    if (why !== undefined) return why;
  }
  return undefined;
}

/**
 * Returns why a change of these files must not be put in force by itself: another user could have made it. Returns `undefined` if
 * there is no such reason. `config` is the configuration in force.
 */
export function reloadObstacle(config: Config, files: Iterable<string>): string | undefined {
  return changeObstacle(files, exposesConfiguration(config));
}
