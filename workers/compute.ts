import { recoverMessageAddress } from "../src/packages/viem.ts";

interface RecoverTask {
  message: string;
  /** 65 bytes in hex. */
  signature: `0x${string}`;
}

/** A task of the compute pool: the address that signed the message, or null when the signature is none. */
export default async function recoverAddress({ message, signature }: RecoverTask): Promise<string | null> {
  try {
    return await recoverMessageAddress({ message, signature });
  } catch {
    return null;
  }
}
