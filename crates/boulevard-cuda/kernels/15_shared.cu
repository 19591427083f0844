// Shared memory whose size the launch gives.
#ifndef BOULEVARD_EMULATED
#define SHARED_BYTES(NAME) extern __shared__ __align__(16) unsigned char NAME[]
#endif
