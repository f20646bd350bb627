// Every package imports this one. On an older Node an import fails with this sentence, and no call later with a TypeError.
const { versions } = (globalThis as { process?: { versions?: { node?: string } } }).process ?? {};
const [major = 0, minor = 0] = (versions?.node ?? '').split('.').map(Number);
// A browser names no Node.
if (versions?.node !== undefined && (major < 22 || (major === 22 && minor < 12)))
  throw new Error(`Signalbox needs Node 22.12 or newer; this is Node ${versions.node}`);

export {};
