import type { SignMessage } from "../client/client.ts";
import { UsageError } from "./command.ts";
import type { Environment } from "./terminal.ts";

const VARIABLE = "PERPD_WALLET_KEY";

/**
 * Signs with the private key in the environment; undefined without one. There is no option for it, since other users of the
 * machine can read a command line.
 */
export function walletOf(env: Environment): SignMessage | undefined {
  const key = env[VARIABLE] || undefined;
  if (key === undefined) return undefined;
  if (!/^0x[0-9a-fA-F]{64}$/.test(key)) throw new UsageError(`${VARIABLE} must be 0x and 64 hex digits`);
  return async (message) => {
    // It takes a fifth of a second to load, and few commands need it.
    const { privateKeyToAccount } = await import("viem/accounts");
    return privateKeyToAccount(key as `0x${string}`).signMessage({ message });
  };
}
