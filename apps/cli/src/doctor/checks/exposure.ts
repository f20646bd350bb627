import { withExposureChecked } from '@signalbox/daemon/config/internal';
import { failureFinding } from '../failure-finding.ts';
import { type Finding, failed, ok, warning } from '../finding.ts';
import type { ReadSetup } from '../setup.ts';

const fix = 'give the server a folder of its own, and no directory that holds the data directory or a token';

/** Judges whether a hosted server can reach the data directory, a token or the configuration. */
export function exposureFindings(
  { config, problem }: ReadSetup,
  guarded: { dataDir: string; tokenFiles: readonly string[] },
): Finding[] {
  if (problem !== undefined) return [];
  const known = new Set(config.warnings);
  try {
    const { warnings } = withExposureChecked(config, guarded);
    const found = warnings.filter((text) => !known.has(text)).map((text) => warning(text, fix));
    return found.length > 0
      ? found
      : [ok('no hosted server is given the data directory, a token or the configuration')];
  } catch (error) {
    const { text, fix: hint = fix } = failureFinding(error, fix);
    return text.split('\n').map((line) => failed(line, hint));
  }
}
