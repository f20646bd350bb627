import { readFileSync } from 'node:fs';

/**
 * Fails if a package of the lockfile has neither a checksum nor a good reason to lack one, or comes from elsewhere than a registry. Prints
 * which packages lack what, and why.
 *
 * - `resolved`, the address of a package, is left out of this lockfile: npm then asks the registry that is configured, and `integrity`
 *   binds the content wherever it comes from.
 * - `integrity` is missing for optional packages of other platforms: npm writes it when it installs one, and `npm ci` never does here.
 */
const { packages } = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));
const registry = 'https://registry.npmjs.org/';

const external = Object.entries(packages).filter(
  ([path, { link }]) => path.includes('node_modules/') && !link,
);
const unchecked = external.filter(([, { integrity }]) => !/^sha(256|384|512)-/.test(integrity ?? ''));
const isForeign = ({ optional, os, cpu }) => optional && (os || cpu);
const bad = [
  ...unchecked.filter(([, entry]) => !isForeign(entry)).map(([path]) => `${path} has no integrity`),
  ...external
    .filter(([, { resolved }]) => resolved !== undefined && !resolved.startsWith(registry))
    .map(([path, { resolved }]) => `${path} comes from ${resolved}, which is no package of the registry`),
];
if (bad.length > 0) {
  process.stderr.write(
    `package-lock.json: ${bad.join('\n  ')}\nInstall them again from the registry: npm install NAME\n`,
  );
  process.exit(1);
}
const withAddress = external.filter(([, { resolved }]) => resolved !== undefined).length;
const names = unchecked.map(([path]) => path.replace('node_modules/', '')).join(', ');
process.stdout.write(
  `lockfile: ${external.length} packages, ${withAddress} with an address (npm asks the configured registry for the others); ` +
    `without a checksum, as they are for other platforms and never installed here: ${names || 'none'}\n`,
);
