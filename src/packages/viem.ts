/** What perpd uses of viem, which has 190 files for it: see typebox.ts. */
export type { Address } from "viem";
export { createSiweMessage, parseSiweMessage } from "viem/siwe";
export { encodeAbiParameters, getAddress, hashMessage, recoverMessageAddress } from "viem/utils";
