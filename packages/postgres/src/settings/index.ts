export { brokerNames, schemaNames } from './names.ts';
export { type ServerAddresses, serverAddresses } from './server-addresses.ts';
