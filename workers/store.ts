import { withRecoveryAdvice } from "../src/actor/host/recovery-advice.ts";
import { runStore } from "../src/actor/threads/threads.ts";

export default withRecoveryAdvice(runStore);
