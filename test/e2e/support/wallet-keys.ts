/** What tests use of viem to sign: see src/packages/typebox.ts. */
export { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
