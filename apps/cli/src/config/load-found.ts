import { basename, isAbsolute } from 'node:path';
import { type Config, type LoadOptions, loadConfig } from '@signalbox/daemon/config';
import type { FoundConfig } from '@signalbox/daemon/config/internal';
import { SignalboxError } from '@signalbox/protocol';

/**
 * Loads the configuration that was found, or the built-in one. Rejects with `bad_config`; the error says how the file was found where the
 * user did not name it on the command line.
 */
export async function loadFound(found: FoundConfig | undefined, options: LoadOptions = {}): Promise<Config> {
  try {
    const config = await loadConfig(found?.file, options);
    return { ...config, warnings: [...passedOverWarnings(found), ...config.warnings] };
  } catch (error) {
    const hint = found && error instanceof SignalboxError ? hintOf(found) : undefined;
    if (hint === undefined) throw error;
    const { code, message, details } = error as SignalboxError;
    throw new SignalboxError(code, message, { cause: error, details: { ...details, hint } });
  }
}

/** Warns of configurations beside the one that was found: a change of them has no effect. */
function passedOverWarnings(found: FoundConfig | undefined): string[] {
  if (!found?.passedOver) return [];
  const others = found.passedOver.join(' and ');
  return [
    `${found.file} is used, and ${others} beside it is not read: move what it says into ${basename(found.file)} and remove it, or name the right one with --config`,
  ];
}

/** Says how a file was found that the user did not name and that does not lie in the working directory. */
function hintOf({ file, by }: FoundConfig): string | undefined {
  if (by === 'environment') return 'SIGNALBOX_CONFIG names this file; --config names another';
  return by === 'search' && isAbsolute(file)
    ? 'the file was found above this folder; --config or SIGNALBOX_CONFIG names another'
    : undefined;
}
