import { exposedConfiguration, exposedTokens, withExposureChecked } from '@signalbox/daemon/config/internal';
import { failureFinding } from '../failure-finding.ts';
import { type Finding, failed, ok, warning } from '../finding.ts';
import type { ReadSetup } from '../setup.ts';

const fix = 'give the server a folder of its own, and no directory that holds the data directory or a token';
const fixConfiguration =
  'give the server a folder of its own, as in ./project, or go on and send SIGHUP after a change';
const fixToken = 'give the server a folder of its own, as in ./project, or move the token out of its folder';

/**
 * Judges whether a hosted server can reach the data directory, a token or the configuration. `tokenFiles` are in use; others lie where they
 * were found.
 */
export function exposureFindings(
  { config, problem }: ReadSetup,
  {
    dataDir,
    tokenFiles,
    otherTokens,
  }: { dataDir: string; tokenFiles: readonly string[]; otherTokens: readonly string[] },
): Finding[] {
  if (problem !== undefined) return [];
  const known = new Set(config.warnings);
  try {
    const { warnings } = withExposureChecked(config, { dataDir, tokenFiles });
    const configuration = new Set(exposedConfiguration(config, dataDir));
    const found = [
      ...warnings
        .filter((text) => !known.has(text))
        .map((text) => (configuration.has(text) ? warning(text, fixConfiguration) : withOwnFix(text))),
      ...exposedTokens(config, otherTokens).map((text) => warning(text, fixToken)),
    ];
    return found.length > 0
      ? found
      : [ok('no hosted server is given the data directory, a token or the configuration')];
  } catch (error) {
    const { text, fix: hint = fix } = failureFinding(error, fix);
    return text.split('\n').map((line) => failed(line, hint));
  }
}

/** Makes a finding of a warning whose last part, behind a colon or a semicolon, says what to do. */
function withOwnFix(text: string): Finding {
  const at = Math.max(text.lastIndexOf(': '), text.lastIndexOf('; '));
  return warning(text.slice(0, at), text.slice(at + 2));
}
