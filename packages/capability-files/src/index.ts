export { type CapabilityCatalog, type CapabilityOptions, openCapabilities } from './catalog.ts';
export { capabilityJsonSchema } from './schema.ts';
