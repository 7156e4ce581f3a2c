import { withRecoveryAdvice } from "../src/actor/host/recovery-advice.ts";
import { runStore } from "../src/actor/threads/thread-mains.ts";

export default withRecoveryAdvice(runStore);
