import type { Config } from '../config.ts';
import { changeObstacle } from './change-obstacle.ts';
import { exposesConfiguration } from './exposures.ts';

/**
 * Returns why a change of these files must not be put in force by itself: another user could have made it. Returns `undefined` if
 * there is no such reason. `config` is the configuration in force.
 */
export function reloadObstacle(config: Config, files: Iterable<string>): string | undefined {
  return changeObstacle(files, exposesConfiguration(config));
}
