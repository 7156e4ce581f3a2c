/** The parts of viem that perpd uses. It has 190 files for them: see typebox.ts. */
export type { Address } from "viem";
export { createSiweMessage, parseSiweMessage } from "viem/siwe";
export { encodeAbiParameters, getAddress, hashMessage, recoverMessageAddress } from "viem/utils";
